(function(){
"use strict";
var tip=document.getElementById("tip"),shown=null;
function hide(){if(shown){shown.style.visibility="hidden";shown=null}tip.style.visibility="hidden"}
function show(event){
  var rect=event.target;
  if(!rect.dataset||rect.dataset.tip===undefined){hide();return}
  var cross=rect.ownerSVGElement.querySelector(".cross");
  if(shown&&shown!==cross)shown.style.visibility="hidden";
  shown=cross;
  cross.setAttribute("x1",rect.dataset.x);cross.setAttribute("x2",rect.dataset.x);
  cross.style.visibility="visible";
  tip.textContent=rect.dataset.tip;
  var width=tip.offsetWidth,height=tip.offsetHeight,x=event.clientX+14,y=event.clientY-height-12;
  if(x+width>innerWidth-6)x=Math.max(6,event.clientX-width-14);
  if(y<6)y=event.clientY+18;
  tip.style.left=x+"px";tip.style.top=y+"px";tip.style.visibility="visible";
}
document.addEventListener("pointermove",show);
document.addEventListener("pointerdown",show);
document.addEventListener("scroll",hide,true);
addEventListener("beforeprint",function(){
  document.querySelectorAll("section>details").forEach(function(details){details.open=true});
});
})();

//! All interleavings of a short history: first without an interruption, then with every possible single
//! interruption, then with every pair.

use std::collections::VecDeque;

use base::simulation::{Strategy, Turn};

use crate::history::History;
use crate::run::run_with;

/// The result of an exploration.
#[derive(Clone, Debug)]
pub struct Explored {
    /// The number of schedules that were run.
    pub schedules: u64,
    /// The number of interruptions up to which every schedule was run.
    pub interruptions: usize,
    /// The first schedule that failed, and its failure.
    pub failure: Option<(History, String)>,
}

/// A schedule to run, and the number of its choices after which the next interruption may come.
struct Planned {
    turns: Vec<Turn>,
    from: usize,
}

/// Runs `history`, whose own schedule is ignored, under schedules with up to `interruptions`, at most `most`
/// of them.
pub fn explore(history: &History, interruptions: usize, most: u64) -> Explored {
    let mut explored = Explored {
        schedules: 0,
        interruptions,
        failure: None,
    };
    let mut planned = VecDeque::from([Planned {
        turns: Vec::new(),
        from: 0,
    }]);
    while let Some(Planned { turns, from }) = planned.pop_front() {
        if explored.schedules == most {
            // Schedules with fewer interruptions came first.
            explored.interruptions = turns.len().saturating_sub(1);
            break;
        }
        explored.schedules += 1;
        let history = History {
            schedule: Some(Strategy::Turns(turns.clone())),
            ..history.clone()
        };
        let report = run_with(&history, false, true);
        if let Some(failure) = report.failure {
            explored.failure = Some((history, failure));
            break;
        }
        if turns.len() == interruptions {
            continue;
        }
        for (at, choice) in report.choices.iter().enumerate().skip(from) {
            for turn in choice {
                let mut turns = turns.clone();
                turns.push(turn.clone());
                planned.push_back(Planned { turns, from: at + 1 });
            }
        }
    }
    explored
}

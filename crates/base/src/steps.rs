//! Steps or a seek: which way to a version or key that lies ahead is shorter.

/// Steps tried at most before a seek: the ceiling of what is learnt.
pub const MAX_STEPS_BEFORE_SEEK: u32 = 10;
/// What a search begins with.
const FIRST: u32 = 5;

/// How many steps to try before a seek. A step that leads there costs a fraction of a seek, one that does not is lost; so it
/// tries one more each time that steps led there, and one less each time they did not. Down to 1 and not to 0: without a step
/// it could not learn that steps are enough again.
#[derive(Clone, Copy, Debug)]
pub struct StepsBeforeSeek {
    now: u32,
    most: u32,
}

impl StepsBeforeSeek {
    /// Of at most `most` steps; with 0 it always seeks, which tests ask for.
    pub fn new(most: u32) -> StepsBeforeSeek {
        StepsBeforeSeek {
            now: FIRST.min(most),
            most,
        }
    }

    /// Steps to try now.
    pub fn get(self) -> u32 {
        self.now
    }

    /// They led there.
    pub fn found(&mut self) {
        self.now = (self.now + 1).min(self.most);
    }

    /// They did not.
    pub fn missed(&mut self) {
        self.now = self.now.saturating_sub(1).max(self.most.min(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_learns_within_its_limits() {
        let mut steps = StepsBeforeSeek::new(MAX_STEPS_BEFORE_SEEK);
        assert_eq!(steps.get(), 5);
        (0..20).for_each(|_| steps.found());
        assert_eq!(steps.get(), 10);
        (0..20).for_each(|_| steps.missed());
        assert_eq!(steps.get(), 1);
        steps.found();
        assert_eq!(steps.get(), 2);
        let mut never = StepsBeforeSeek::new(0);
        never.found();
        never.missed();
        assert_eq!(never.get(), 0);
    }
}

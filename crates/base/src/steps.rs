//! The choice between steps of an iterator and a seek, to reach a version or key further on.

/// The most steps to try before a seek.
pub const MAX_STEPS_BEFORE_SEEK: u32 = 10;
/// The number of steps that a search tries at first.
const FIRST: u32 = 5;

/// How many steps to try before a seek. A step that leads to the target costs a fraction of a seek; one that
/// does not is wasted. The number rises by one each time steps reached the target, and falls by one each time
/// they did not. It falls to 1 and not to 0: without any step, an iterator could not learn that steps have
/// become enough again.
#[derive(Clone, Copy, Debug)]
pub struct StepsBeforeSeek {
    now: u32,
    most: u32,
}

impl StepsBeforeSeek {
    /// A choice of at most `most` steps; with 0, which tests use, an iterator always seeks.
    pub fn new(most: u32) -> StepsBeforeSeek {
        StepsBeforeSeek {
            now: FIRST.min(most),
            most,
        }
    }

    /// The number of steps to try now.
    pub fn get(self) -> u32 {
        self.now
    }

    /// Records that steps reached the target.
    pub fn found(&mut self) {
        self.now = (self.now + 1).min(self.most);
    }

    /// Records that steps did not reach the target.
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

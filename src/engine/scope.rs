//! Which processes and threads of a tree are recorded.

use regex::Regex;

/// What is wanted of the tree below the processes asked for.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Children too.
    pub follow: bool,
    /// Only threads with a name that matches.
    pub threads: Option<Regex>,
    /// Only processes whose first thread has a name that matches.
    pub processes: Option<Regex>,
}

impl Default for Scope {
    fn default() -> Scope {
        Scope {
            follow: true,
            threads: None,
            processes: None,
        }
    }
}

impl Scope {
    /// Whether names decide who is recorded.
    pub fn selects(&self) -> bool {
        self.threads.is_some() || self.processes.is_some()
    }

    /// Whether a thread is recorded, by its name and that of its process's first thread.
    pub fn wants(&self, process: &str, thread: &str) -> bool {
        let matches = |pattern: &Option<Regex>, name: &str| {
            pattern
                .as_ref()
                .is_none_or(|pattern| pattern.is_match(name))
        };
        matches(&self.processes, process) && matches(&self.threads, thread)
    }
}

#[cfg(test)]
mod tests {
    use super::Scope;
    use regex::Regex;

    #[test]
    fn both_names_must_match_where_both_are_asked_for() {
        let pattern = |text: &str| Some(Regex::new(text).expect("a pattern"));
        let mut scope = Scope::default();
        assert!(!scope.selects() && scope.wants("", ""));
        scope.threads = pattern("^io-");
        assert!(scope.wants("any", "io-1") && !scope.wants("io-1", "cpu-1"));
        scope.processes = pattern("server");
        assert!(scope.wants("webserver", "io-1"));
        assert!(!scope.wants("client", "io-1") && !scope.wants("server", "cpu"));
    }
}

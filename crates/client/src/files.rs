//! How many files, and so connections, this process may have open.

/// Allows this process as many open files as the system lets it, and says how many those are
/// ([`usize::MAX`] for no limit). Where the system refuses, the old limit holds.
pub fn raise_file_limit() -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        if current != maximum {
            // A refusal leaves the old limit, which is read back below.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
        }
        let current = getrlimit(Resource::Nofile).current;
        current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX)
    }
    #[cfg(not(unix))]
    usize::MAX
}

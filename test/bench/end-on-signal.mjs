// Ends a process on SIGTERM by itself: a process that a signal ends writes no profile.
process.once('SIGTERM', () => process.exit());

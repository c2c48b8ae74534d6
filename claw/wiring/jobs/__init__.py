"""Settings and jobs -> what a person is told of them before they run."""

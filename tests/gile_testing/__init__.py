"""What several test files share: runs, processes, studies, oracles, documents."""

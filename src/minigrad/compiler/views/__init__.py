"""Programs as separate arrays and views of them. Start at `planner`."""

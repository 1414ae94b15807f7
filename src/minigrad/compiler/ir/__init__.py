"""Programs: what a trace becomes, what passes change, what back ends run."""

"""The parts of bench/shares: where tenants run (place), what they got (curves), what is measured (rows), how it is shown."""

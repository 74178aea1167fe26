"""What the screens are made of. Widgets know records and cells, never screens, the feed or the actions."""

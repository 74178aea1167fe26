"""The terminal monitor of dura: reads a store through `dura.monitor`, acts on it through `dura.engine`."""

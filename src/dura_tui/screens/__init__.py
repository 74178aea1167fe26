"""The views, one noun each, and the dialogs over them."""

"""The web console: pages of a worker under /ui, which show; what changes something is sent to the REST API."""

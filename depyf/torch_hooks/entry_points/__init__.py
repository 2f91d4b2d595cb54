"""The public functions: prepare_debug, debug, inspect, install, finish, and calls that skip the guards."""

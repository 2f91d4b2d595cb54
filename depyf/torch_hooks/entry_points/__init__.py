"""The other public functions: inspect, debug, install, finish, and calls that skip the guards."""

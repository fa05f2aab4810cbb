"""What instruments compute with: functions that measure one thing each and hold no state of a training."""

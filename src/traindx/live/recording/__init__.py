"""From measurements to lines of a recording: values on their way from the device, thinning, the store."""

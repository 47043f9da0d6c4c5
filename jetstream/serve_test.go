package jetstream

// serve is this binary in its other role.
func serve() bool { return false }

package serve

// IsTransient is isTransient, for tests.
var IsTransient = isTransient

package literal

func literalInTest() *Order { return &Order{ID: 11} }

// seedInTest sets a key that no seed of the program sets.
func seedInTest() *Order { return &Order{ID: 3} }

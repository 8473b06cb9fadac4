package literal

// inSeed is reported by rule seed.
func inSeed() *Order { return &Order{ID: 7} }

// setRole sets a key that other code may then write as a number.
func setRole(r Role) { r.ID = 9 }

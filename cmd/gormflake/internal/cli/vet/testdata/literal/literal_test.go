package literal

func literalInTest() *Order { return &Order{ID: 7} }

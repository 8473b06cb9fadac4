package pgcatalog

// ParentsFirst puts things in an order in which each is after its parents, which it
// adds. Those that are parents of each other stay in some order.
func ParentsFirst[T comparable](things []T, parents func(T) []T) []T {
	var sorted []T
	seen := map[T]bool{}
	var visit func(T)
	visit = func(thing T) {
		if seen[thing] {
			return
		}
		seen[thing] = true
		for _, parent := range parents(thing) {
			visit(parent)
		}
		sorted = append(sorted, thing)
	}
	for _, thing := range things {
		visit(thing)
	}
	return sorted
}

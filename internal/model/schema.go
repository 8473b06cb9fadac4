package model

import (
	"slices"

	"gorm.io/gorm/schema"
)

// Relations returns the relations of s, always in the same order. GORM also has all of
// them in a map, which has no order.
func Relations(s *schema.Schema) []*schema.Relationship {
	defer ReadLock(s)()
	r := &s.Relationships
	return slices.Concat(r.BelongsTo, r.HasOne, r.HasMany, r.Many2Many)
}

// ReadLock locks s for reading until the caller calls unlock, so that GORM does not change s
// meanwhile. GORM changes s when another goroutine first uses a model that refers to s. GORM
// then adds relations to s, and sets the types and sizes of foreign keys.
func ReadLock(s *schema.Schema) (unlock func()) {
	s.Relationships.Mux.RLock()
	return s.Relationships.Mux.RUnlock
}

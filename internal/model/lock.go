package model

import "gorm.io/gorm/schema"

// ReadLock keeps GORM from changing s. GORM adds relations to a schema, and the
// types and sizes of foreign keys, whenever it parses a model that refers to it.
func ReadLock(s *schema.Schema) (unlock func()) {
	s.Relationships.Mux.RLock()
	return s.Relationships.Mux.RUnlock
}

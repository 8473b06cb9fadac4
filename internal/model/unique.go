package model

import "gorm.io/gorm/schema"

// Unique is a unique index or constraint that the model declares.
type Unique struct {
	Columns []string
	Where   string // the condition of a partial index
}

// uniquesOf returns the unique indexes and constraints of a schema. It leaves out the
// primary key, and an index with an expression, because its values are in no column.
func uniquesOf(s *schema.Schema) (list []Unique) {
	for _, index := range s.ParseIndexes() {
		u := Unique{Where: index.Where}
		for _, f := range index.Fields {
			if f.Field != nil && f.Expression == "" && f.DBName != "" {
				u.Columns = append(u.Columns, f.DBName)
			}
		}
		if index.Class == "UNIQUE" && len(u.Columns) == len(index.Fields) {
			list = append(list, u)
		}
	}
	for _, f := range s.Fields {
		if f.Unique && f.DBName != "" && !f.PrimaryKey {
			list = append(list, Unique{Columns: []string{f.DBName}})
		}
	}
	return list
}

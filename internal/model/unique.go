package model

import "gorm.io/gorm/schema"

// Unique is a unique index or constraint that the model declares. By its columns, package
// fill finds the existing row that an upsert has updated.
type Unique struct {
	Columns []string // names in the database
	Where   string   // the condition of a partial index
}

// uniquesOf returns the unique indexes and constraints of a schema. It leaves out the
// primary key, and each index with an expression such as lower(name), because no column
// has the value of the expression.
func uniquesOf(s *schema.Schema) (list []Unique) {
	for _, index := range s.ParseIndexes() {
		u := Unique{Where: index.Where}
		for _, f := range index.Fields {
			if f.Field != nil && f.Expression == "" && f.DBName != "" {
				u.Columns = append(u.Columns, f.DBName)
			}
		}
		hasExpression := len(u.Columns) < len(index.Fields)
		if index.Class == "UNIQUE" && !hasExpression {
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

package models

import "gorm.io/gorm"

type User struct{ ID uint }

func All() []any { return []any{&User{}} }

// Rows reads users.
type Rows struct{ db *gorm.DB }

func (r *Rows) User(id uint) error { return r.db.First(&User{}, id).Error }

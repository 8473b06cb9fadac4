package plugin

import "gorm.io/gorm"

// inTest lets the database assign the key.
func inTest(dialector gorm.Dialector) error {
	db, err := gorm.Open(dialector)
	if err != nil {
		return err
	}
	return db.Create(&User{}).Error
}

package guard

import "gorm.io/gorm"

const (
	// PluginName is the key of the plugin in the GORM configuration.
	PluginName = "gormflake"

	tagKey = "snowflake"
)

// cause returns why the row has no key, and the fix.
func (k *key) cause(stmt *gorm.Statement) string {
	_, registered := stmt.Plugins[PluginName]
	_, tagged := k.field.Tag.Lookup(tagKey)
	const (
		noPlugin = "the plugin is not registered in this *gorm.DB: call gormflake.Open, or db.Use(gormflake.New(gen)), first"
		counted  = `; if the database assigns it, add gorm:"autoIncrement"`
	)
	switch {
	case !registered && !tagged:
		return noPlugin + `, and tag the field snowflake:"pk"` + counted
	case !registered:
		return noPlugin + counted
	case !tagged:
		return `the field has no tag: add snowflake:"pk"` + counted
	default:
		return "a hook or callback has set it to 0 since the plugin filled it: remove that, or set a key"
	}
}

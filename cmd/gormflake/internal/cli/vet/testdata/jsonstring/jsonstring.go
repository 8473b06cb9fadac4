package jsonstring

import "github.com/gormflake/gormflake/types"

type Order struct {
	ID     types.ID   `json:"id,string"`               // want `remove ",string": an ID quotes itself`
	Parent *types.ID  `json:"parent,omitempty,string"` // want `remove ",string"`
	Number int64      `json:"number,string"`
	Other  types.ID   `json:"string"`
	Many   []types.ID `json:"many,omitempty"`
}

package main

import (
	"example/shop/handlers"
	"example/shop/models"

	"github.com/gormflake/gormflake"
)

func main() {
	handlers.Show(nil, "1")
	_ = gormflake.WithModels(models.All()...)
}

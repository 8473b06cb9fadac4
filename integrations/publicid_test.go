package integrations_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/gin-gonic/gin/binding"
	"gorm.io/gorm"

	"github.com/gormflake/gormflake"
	"github.com/gormflake/gormflake/gormflaketest"
	"github.com/gormflake/gormflake/internal/test/testdb"
	"github.com/gormflake/gormflake/publicid"
	"github.com/gormflake/gormflake/types"
)

// sale is a row that clients send and receive, except for its key, which is not part of
// JSON or forms.
type sale struct {
	gormflake.Model `form:"-" json:"-"`

	PublicID publicid.Text `gorm:"-" json:"id"`
	Customer string        `binding:"required" json:"customer"`
	Items    []saleItem    `json:"items"`
}

// BeforeCreate removes the blanks around the customer. It shows that a hook of the model works
// without knowing of public IDs.
func (s *sale) BeforeCreate(*gorm.DB) error {
	s.Customer = strings.TrimSpace(s.Customer)
	return nil
}

// saleItem is a row that belongs to a sale. Clients see only the public IDs of both.
type saleItem struct {
	gormflake.Model `form:"-" json:"-"`

	PublicID     publicid.Text `gorm:"-" json:"id"`
	SaleID       types.ID      `form:"-" json:"-"`
	PublicSaleID publicid.Text `form:"sale" gorm:"-" json:"sale"`
	Name         string        `json:"name"`
}

// saleAPI contains the kinds of public IDs.
type saleAPI struct {
	db    *gorm.DB
	sales publicid.Kind[types.ID]
	items publicid.Kind[types.ID]
}

// newSaleAPI returns an API of sales. Two APIs with different secrets have different public
// IDs for the same key.
func newSaleAPI(t *testing.T, db *gorm.DB, secret byte) http.Handler {
	t.Helper()
	codec, err := publicid.New(bytes.Repeat([]byte{secret}, publicid.SecretSize))
	noError(t, err)
	api := saleAPI{db: db}
	api.sales, err = publicid.For[types.ID](codec, "sal")
	noError(t, err)
	api.items, err = publicid.For[types.ID](codec, "itm")
	noError(t, err)
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.POST("/sales", api.create)
	router.GET("/sales/:id", api.show)
	router.POST("/items", api.add)
	router.GET("/items", api.list)
	return router
}

// publish sets the public IDs of a sale and its items.
func (api saleAPI) publish(s *sale) *sale {
	s.PublicID = api.sales.Text(s.ID)
	api.publishItems(s.Items)
	return s
}

// publishItems sets the public IDs of the items and of their sales.
func (api saleAPI) publishItems(items []saleItem) {
	for i := range items {
		items[i].PublicID = api.items.Text(items[i].ID)
		items[i].PublicSaleID = api.sales.Text(items[i].SaleID)
	}
}

// create stores the sale of a client, whose IDs in the body are ignored.
func (api saleAPI) create(c *gin.Context) {
	var s sale
	if err := c.ShouldBindJSON(&s); err != nil {
		c.Status(http.StatusBadRequest)
		return
	}
	if err := api.db.WithContext(c).Create(&s).Error; err != nil {
		c.Status(http.StatusInternalServerError)
		return
	}
	c.JSON(http.StatusCreated, api.publish(&s))
}

// show returns a sale by its public ID. It answers 404 to an invalid ID and to an unknown ID,
// so that clients cannot tell which IDs are valid.
func (api saleAPI) show(c *gin.Context) {
	id, err := api.sales.Parse(c.Param("id"))
	if err != nil {
		c.Status(http.StatusNotFound)
		return
	}
	var s sale
	if err := api.db.WithContext(c).Preload("Items").Take(&s, id).Error; err != nil {
		c.Status(http.StatusNotFound)
		return
	}
	c.JSON(http.StatusOK, api.publish(&s))
}

// add adds an item to the sale that the body names by its public ID.
func (api saleAPI) add(c *gin.Context) {
	var item saleItem
	err := c.ShouldBindJSON(&item)
	if err == nil {
		item.SaleID, err = api.sales.Open(item.PublicSaleID)
	}
	if err != nil {
		c.Status(http.StatusBadRequest)
		return
	}
	if err := api.db.WithContext(c).Create(&item).Error; err != nil {
		c.Status(http.StatusInternalServerError)
		return
	}
	items := []saleItem{item}
	api.publishItems(items)
	c.JSON(http.StatusCreated, items[0])
}

// list returns the items of the sale that the query names by its public ID.
func (api saleAPI) list(c *gin.Context) {
	var query saleItem
	err := c.ShouldBindQuery(&query)
	if err == nil {
		query.SaleID, err = api.sales.Open(query.PublicSaleID)
	}
	if err != nil {
		c.Status(http.StatusBadRequest)
		return
	}
	var items []saleItem
	if err := api.db.WithContext(c).Order("id").Find(&items, "sale_id = ?", query.SaleID).Error; err != nil {
		c.Status(http.StatusInternalServerError)
		return
	}
	api.publishItems(items)
	c.JSON(http.StatusOK, items)
}

// TestGinPublicIDs checks an API that uses its models as the bodies of requests and
// responses. Clients see and send only public IDs, in paths, queries and bodies. IDs in the
// body of a create must be ignored. The API must reject a key, a public ID of another kind or
// of another secret, and a text that is not a public ID.
func TestGinPublicIDs(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, testdb.SQLite)
	noError(t, db.Use(gormflake.New(gormflaketest.Keys(sample, sample+1, sample+2))))
	noError(t, db.AutoMigrate(&sale{}, &saleItem{}))
	server := httptest.NewServer(newSaleAPI(t, db, 1))
	defer server.Close()

	var made, read sale
	request(t, http.MethodPost, server.URL+"/sales", `{"id":"7","customer":" Ada ","items":[{"id":"8","sale":"9","name":"tea"}]}`, http.StatusCreated, &made)
	if made.Customer != "Ada" || !strings.HasPrefix(string(made.PublicID), "sal_") || len(made.Items) != 1 || made.Items[0].PublicSaleID != made.PublicID {
		t.Fatalf("got %+v, want a trimmed customer, and an item that refers to the sale", made)
	}
	var added saleItem
	request(t, http.MethodPost, server.URL+"/items", `{"sale":"`+string(made.PublicID)+`","name":"milk"}`, http.StatusCreated, &added)
	body := request(t, http.MethodGet, server.URL+"/sales/"+string(made.PublicID), "", http.StatusOK, &read)
	if read.PublicID != made.PublicID || len(read.Items) != 2 || read.Items[1].PublicID != added.PublicID {
		t.Errorf("got %s, want sale %s with the added item %s", body, made.PublicID, added.PublicID)
	}
	var items []saleItem
	request(t, http.MethodGet, server.URL+"/items?sale="+string(made.PublicID), "", http.StatusOK, &items)
	if len(items) != 2 {
		t.Errorf("got %d items, want 2", len(items))
	}

	var row sale
	noError(t, db.Take(&row).Error)
	if row.ID != sample || strings.Contains(body, text[:17]) {
		t.Errorf("got key %s, want %s, and no key in %s", row.ID, text, body)
	}
	foreign := httptest.NewServer(newSaleAPI(t, db, 2))
	defer foreign.Close()
	request(t, http.MethodGet, foreign.URL+"/sales/"+string(made.PublicID), "", http.StatusNotFound, nil)
	for _, id := range []string{row.ID.String(), string(added.PublicID), "sal_" + strings.TrimPrefix(string(added.PublicID), "itm_"), "sal_"} {
		request(t, http.MethodGet, server.URL+"/sales/"+id, "", http.StatusNotFound, nil)
		request(t, http.MethodGet, server.URL+"/items?sale="+id, "", http.StatusBadRequest, nil)
		request(t, http.MethodPost, server.URL+"/items", `{"sale":"`+id+`"}`, http.StatusBadRequest, nil)
	}
}

// TestGinFormSetsNoKey checks that a client cannot set a key by a form or query either. gin
// fills a field without a form tag by its name, so the keys need the tag form:"-".
func TestGinFormSetsNoKey(t *testing.T) {
	t.Parallel()
	fields := url.Values{"ID": {"7"}, "SaleID": {"9"}, "CreatedAt": {"2020-01-01T00:00:00Z"}, "sale": {"sal_x"}}
	for _, bind := range []binding.Binding{binding.Query, binding.Form, binding.FormPost} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/items?"+fields.Encode(), strings.NewReader(fields.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		var got saleItem
		noError(t, bind.Bind(r, &got))
		if want := (saleItem{PublicSaleID: "sal_x"}); got != want {
			t.Errorf("%s: got %+v, want %+v", bind.Name(), got, want)
		}
	}
}

// request sends a request, checks the status of the response, and decodes its body into
// v. It returns the body.
func request(t *testing.T, method, url, body string, status int, v any) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	noError(t, err)
	response, err := http.DefaultClient.Do(r)
	noError(t, err)
	defer response.Body.Close()
	var got bytes.Buffer
	_, err = got.ReadFrom(response.Body)
	noError(t, err)
	if response.StatusCode != status {
		t.Fatalf("%s %s: got %d %s, want %d", method, url, response.StatusCode, &got, status)
	}
	if v != nil {
		noError(t, json.Unmarshal(got.Bytes(), v))
	}
	return got.String()
}

// noError ends the test if there is an error.
func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The Go receiver of docs/receivers.md, as it is there, with what Longshore signs.
package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

const statement = "insert into callback (cargo_id, body) values ($1, $2) on conflict do nothing"

type signedCallback struct {
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
}

type signed struct {
	OldSecret      string         `json:"old_secret"`
	BeforeRotation signedCallback `json:"before_rotation"`
	DuringRotation signedCallback `json:"during_rotation"`
	AfterRotation  signedCallback `json:"after_rotation"`
}

// What Longshore signs, as if the attempt had begun so long ago.
func sign(t *testing.T, age time.Duration) signed {
	t.Helper()
	seconds := strconv.FormatInt(time.Now().Add(-age).Unix(), 10)
	printed, err := exec.Command(os.Getenv("SIGNED_CALLBACKS"), seconds).Output()
	if err != nil {
		t.Fatal(err)
	}
	var all signed
	if err := json.Unmarshal(printed, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// The table, without a PostgreSQL server. The receiver must use this statement.
type table map[string]string

func (rows table) Connect(context.Context) (driver.Conn, error) { return rows, nil }
func (rows table) Driver() driver.Driver                        { return nil }
func (rows table) Begin() (driver.Tx, error)                    { return nil, errors.New("no transactions") }
func (rows table) Close() error                                 { return nil }
func (rows table) Prepare(text string) (driver.Stmt, error) {
	if text != statement {
		return nil, errors.New(text)
	}
	return insert{rows}, nil
}

type insert struct{ rows table }

func (insert) Close() error                              { return nil }
func (insert) NumInput() int                             { return 2 }
func (insert) Query([]driver.Value) (driver.Rows, error) { return nil, errors.New("no queries") }
func (it insert) Exec(args []driver.Value) (driver.Result, error) {
	id, body := args[0].(string), args[1].(string)
	if id == "" {
		return nil, errors.New("the table is away")
	}
	if _, isKnown := it.rows[id]; !isKnown {
		it.rows[id] = body
	}
	return driver.RowsAffected(1), nil
}

func start(t *testing.T, secret string) (http.HandlerFunc, table) {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	rows := table{}
	return receiver(key, sql.OpenDB(rows)), rows
}

// The status that the receiver answers, without a server around it.
func post(handler http.HandlerFunc, headers map[string]string, body string) int {
	request := httptest.NewRequest("POST", "/callbacks/longshore", strings.NewReader(body))
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response := httptest.NewRecorder()
	handler(response, request)
	return response.Code
}

func TestACallbackIsStoredOnceHoweverOftenItArrives(t *testing.T) {
	all := sign(t, 0)
	handler, rows := start(t, all.OldSecret)
	for _, callback := range []signedCallback{all.BeforeRotation, all.DuringRotation, all.BeforeRotation} {
		if status := post(handler, callback.Headers, callback.Body); status != http.StatusNoContent {
			t.Fatal(status)
		}
	}
	id := all.BeforeRotation.Headers["webhook-id"]
	if len(rows) != 1 || rows[id] != all.BeforeRotation.Body {
		t.Fatal(rows)
	}
}

func TestAForgedOrOldCallbackIsNotStored(t *testing.T) {
	all, old := sign(t, 0), sign(t, tolerance+30*time.Second)
	handler, rows := start(t, all.OldSecret)
	headers, body := all.BeforeRotation.Headers, all.BeforeRotation.Body
	for name, status := range map[string]int{
		"a changed byte":    post(handler, headers, strings.Replace(body, "7", "8", 1)),
		"another secret":    post(handler, all.AfterRotation.Headers, all.AfterRotation.Body),
		"no signature":      post(handler, nil, body),
		"an old attempt":    post(handler, old.BeforeRotation.Headers, old.BeforeRotation.Body),
		"a cut signature":   post(handler, with(headers, "webhook-signature", "v1,"), body),
		"another timestamp": post(handler, with(headers, "webhook-timestamp", "soon"), body),
	} {
		if status != http.StatusUnauthorized {
			t.Errorf("%s: %d", name, status)
		}
	}
	if len(rows) != 0 {
		t.Fatal(rows)
	}
}

func with(headers map[string]string, name, value string) map[string]string {
	changed := map[string]string{}
	for each, its := range headers {
		changed[each] = its
	}
	changed[name] = value
	return changed
}

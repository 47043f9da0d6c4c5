package livepage_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/livepage"
)

// A service exposes the page on localhost only.
func ExampleRegister() {
	mux := http.NewServeMux()
	livepage.Register(mux)
	server := httptest.NewServer(mux) // in a service: http.ListenAndServe("localhost:6060", mux)
	defer server.Close()

	orders := sluice.NewBounded[int](8, &sluice.BoundedOptions[int]{Name: "orders"})
	if err := orders.TrySend(1); err != nil {
		fmt.Println(err)
		return
	}

	answer, err := http.Get(server.URL + "/debug/sluice?format=json&filter=orders")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	var report livepage.Report
	if err := json.NewDecoder(answer.Body).Decode(&report); err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range report.Channels {
		fmt.Printf("%s %s: %d of %d\n", c.Kind, c.Name, c.Len, *c.Cap)
	}
	runtime.KeepAlive(orders)
	// Output:
	// Bounded orders: 1 of 8
}

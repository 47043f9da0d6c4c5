package jetstream

import (
	"context"
	"fmt"
	"testing"

	"github.com/sluice-go/sluice"
)

func TestSmoke(t *testing.T) {
	ctx := context.Background()
	c, err := Open(ctx, &Options[string]{Name: "smoke"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if err := c.Send(ctx, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	n, err := c.SendBatch(ctx, make([]string, 2500))
	fmt.Println(n, err)
	fmt.Printf("%+v\n", c.Stats())
	c.Close()
	fmt.Println(c.Send(ctx, "x"))
	got := 0
	for range c.All(ctx) {
		got++
	}
	_, err = c.TryRecv()
	fmt.Println(got, err, err == sluice.ErrClosed)
	fmt.Println(c.Leave(ctx))
}

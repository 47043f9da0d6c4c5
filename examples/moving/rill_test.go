package moving

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/source"
	"github.com/sluice-go/sluice/workers"
)

// Example: three goroutines get users, two save them.
func Example_rillUsers() {
	ctx := context.Background()
	ids := source.Slice([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})

	users := workers.Map(ctx, ids, 3, getUser, nil)

	err := workers.Run(ctx, users, 2, func(ctx context.Context, u *user) error {
		if u.active {
			fmt.Println(u.name, "is active already")
			return nil
		}
		u.active = true
		if err := saveUser(ctx, u); err != nil {
			return err
		}
		fmt.Println(u.name, "is saved")
		return nil
	}, nil)
	fmt.Println("error:", err)
	// Unordered output:
	// user 1 is saved
	// user 2 is saved
	// user 3 is active already
	// user 4 is saved
	// user 5 is saved
	// user 6 is active already
	// user 7 is saved
	// user 8 is saved
	// user 9 is active already
	// user 10 is saved
	// error: <nil>
}

// Example_batching: the same with five users per request.
func Example_rillBatching() {
	ctx := context.Background()
	ids := source.Seq(slices.Chunk([]int{
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
		21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
	}, 5))

	batches := workers.Map(ctx, ids, 3, getUsers, nil)

	users := source.Seq2(func(yield func(*user, error) bool) {
		for users := range batches.All() {
			for _, u := range users {
				if !yield(u, nil) {
					return
				}
			}
		}
		if err := batches.Err(); err != nil {
			yield(nil, err)
		}
	})

	err := workers.Run(ctx, users, 2, func(ctx context.Context, u *user) error {
		if u.active {
			fmt.Println(u.name, "is active already")
			return nil
		}
		u.active = true
		return saveUser(ctx, u)
	}, nil)
	fmt.Println("error:", err)
	// Unordered output:
	// user 3 is active already
	// user 6 is active already
	// user 9 is active already
	// user 12 is active already
	// user 15 is active already
	// user 18 is active already
	// user 21 is active already
	// user 24 is active already
	// user 27 is active already
	// user 30 is active already
	// user 33 is active already
	// user 36 is active already
	// user 39 is active already
	// error: <nil>
}

// Example_batchingRealTime: updates that arrive one by one are written in batches of up
// to five, at the latest 100 ms after the first.
func Example_rillBatchingRealTime() {
	ctx := context.Background()
	updates := sluice.NewBounded[int](100, nil)
	update := func(id int) error { return updates.Send(ctx, id) }
	written, ended := make(chan int, 100), make(chan error)
	worker := func() error {
		batches := batch.Receive(ctx, updates, 5, &batch.Options[int]{Linger: 100 * time.Millisecond})
		for ids := range batches.All() {
			fmt.Println("UPDATE users SET seen = now() WHERE id IN", ids)
			written <- len(ids)
		}
		return batches.Err()
	}

	for id := range 7 {
		_ = update(id)
	}
	go func() { ended <- worker() }()
	for n := 0; n < 7; {
		n += <-written
	}
	_ = update(7)
	updates.Close()
	fmt.Println("error:", <-ended)
	// Output:
	// UPDATE users SET seen = now() WHERE id IN [0 1 2 3 4]
	// UPDATE users SET seen = now() WHERE id IN [5 6]
	// UPDATE users SET seen = now() WHERE id IN [7]
	// error: <nil>
}

// Example_ordering: the first of 1000 files that contains some text. At most five are
// downloaded at a time.
func Example_rillOrdering() {
	ctx := context.Background()
	needle := []byte("26")

	urls := source.Seq(func(yield func(string) bool) {
		for i := 0; i < 1000 && yield(fmt.Sprintf("https://example.com/file-%d.txt", i)); i++ {
		}
	})

	matched := workers.Map(ctx, urls, 5, func(ctx context.Context, url string) (*string, error) {
		content, err := downloadFile(ctx, url)
		if err != nil || !bytes.Contains(content, needle) {
			return nil, err
		}
		return &url, nil
	}, &workers.MapOptions[string]{Ordered: true, MaxAhead: 5})

	for url := range matched.All() {
		if url != nil {
			fmt.Println("found in", *url)
			return
		}
	}
	if err := matched.Err(); err != nil {
		fmt.Println("error:", err)
		return
	}
	fmt.Println("not found")
	// Output: found in https://example.com/file-26.txt
}

// Example_flatMap: the users of all departments, three departments at a time, page by
// page.
func Example_rillFlatMapUsers() {
	ctx := context.Background()
	users := workers.Map(ctx, source.Slice(departments), 3, func(ctx context.Context, department string) (all []*user, err error) {
		for page := 0; ; page++ {
			users, err := listUsers(ctx, department, page)
			if err != nil || len(users) == 0 {
				return all, err
			}
			all = append(all, users...)
		}
	}, nil)

	for users := range users.All() {
		for _, u := range users {
			fmt.Println(u.name, u.department)
		}
	}
	fmt.Println("error:", users.Err())
	// Unordered output:
	// user 1 support
	// user 2 research
	// user 3 sales
	// user 4 support
	// user 5 research
	// user 6 sales
	// user 7 support
	// user 8 research
	// user 9 sales
	// error: <nil>
}

// Example_context: whether all users exist. The first error ends all workers.
func Example_rillContext() {
	check := func(ctx context.Context, n int, ids []int) error {
		return workers.Run(ctx, source.Slice(ids), n, func(ctx context.Context, id int) error {
			if _, err := getUser(ctx, id); err != nil {
				return fmt.Errorf("user %d: %w", id, err)
			}
			return nil
		}, nil)
	}

	err := check(context.Background(), 3, []int{1, 2, 3, 4, 5, 999, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	fmt.Println("error:", err)
	// Output: error: user 999: no such user
}

package moving

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// This file has what the examples share. Their originals have the same, so its lines
// count on neither side.

// show prints the values of a loop, one per line, and why the loop ended. Results, Values
// and Batches have the methods that it needs.
func show[T any](loop interface {
	All() iter.Seq[T]
	Err() error
}) {
	for v := range loop.All() {
		fmt.Println(v)
	}
	fmt.Println("error:", loop.Err())
}

func isPrime(n int) bool {
	for i := 2; i*i <= n; i++ {
		if n%i == 0 {
			return false
		}
	}
	return n > 1
}

func square(n int) int { return n * n }

// A user of an imaginary service.
type user struct {
	id         int
	name       string
	department string
	active     bool
}

var departments = []string{"sales", "support", "research"}

// getUser returns one of 100 users. Every third one is active.
func getUser(ctx context.Context, id int) (*user, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if id < 1 || id > 100 {
		return nil, errors.New("no such user")
	}
	return &user{id, fmt.Sprint("user ", id), departments[id%len(departments)], id%3 == 0}, nil
}

// getUsers returns several users with one request.
func getUsers(ctx context.Context, ids []int) (users []*user, err error) {
	for _, id := range ids {
		u, err := getUser(ctx, id)
		if err != nil {
			return nil, err
		}
		users = append(users, u)
	}
	return users, nil
}

// listUsers returns a page of up to two of the first nine users, those of one department.
func listUsers(ctx context.Context, department string, page int) (users []*user, err error) {
	for id := 1; id < 10; id++ {
		u, err := getUser(ctx, id)
		if err != nil {
			return nil, err
		}
		if u.department == department {
			users = append(users, u)
		}
	}
	return users[min(len(users), 2*page):min(len(users), 2*page+2)], nil
}

// saveUser refuses users without a name.
func saveUser(ctx context.Context, u *user) error {
	if u.name == "" {
		return errors.New("a user needs a name")
	}
	return ctx.Err()
}

// downloadFile returns the content of an imaginary file.
func downloadFile(ctx context.Context, url string) ([]byte, error) {
	return []byte("the content of " + url), ctx.Err()
}

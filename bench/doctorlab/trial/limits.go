package main

import (
	"context"
	"database/sql"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/doctorlab/remote"
	own "github.com/sluice-go/sluice/semaphore"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
)

// Services that a limit holds back: of goroutines, of connections, semaphores and pools.

// thumbnails: pictures of an album are fetched, some at a time.
func thumbnails(s *service) {
	fetch := s.asker(4 * time.Millisecond)
	go func() {
		for {
			var group errgroup.Group
			group.SetLimit(s.choose(raiseLimit, 64, 4))
			start(256, group.Go, func() error {
				s.done(1)
				return fetch()
			})
			_ = group.Wait()
		}
	}()
}

// each calls f for each value, at most n at a time.
func each[T any](ctx context.Context, n int, values []T, f func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(n)
	for _, v := range values {
		group.Go(func() error { return f(ctx, v) })
	}
	return group.Wait()
}

// backups: two schedules copy their volumes.
func backups(s *service) {
	copyOut, volumes := s.asker(5*time.Millisecond), make([]int, 200)
	archive := func(context.Context, int) error {
		s.done(1)
		return copyOut()
	}
	spawn(2, func() {
		for each(context.Background(), s.choose(raiseLimit, 50, 2), volumes, archive) == nil {
		}
	})
}

// reviews: each request asks for the parts of a page.
func reviews(s *service) {
	ask := s.asker(2 * time.Millisecond)
	start(4, new(sync.WaitGroup).Go, func() {
		for ; ; s.done(30) {
			var parts errgroup.Group
			parts.SetLimit(s.choose(raiseLimit, 30, 2))
			start(30, parts.Go, ask)
			_ = parts.Wait()
		}
	})
}

// client returns an HTTP client with a limit.
func (s *service) client(few, many int) *http.Client {
	return &http.Client{Transport: &http.Transport{MaxConnsPerHost: s.choose(raiseLimit, many, few), MaxIdleConnsPerHost: many}}
}

// finish reads a response to its end.
func finish(response *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// forecasts: regions ask for the weather.
func forecasts(s *service) {
	client, url := s.client(4, 64), remote.StartBackend().URL(4*time.Millisecond)
	s.callers(40, func() error { return finish(client.Get(url)) })
}

type catalog interface{ price(id int) (string, error) }

type shopAPI struct {
	http *http.Client
	base string
}

func get[T ~string](c *http.Client, url string) (T, error) {
	response, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	return T(b), err
}

func (a *shopAPI) price(int) (string, error) { return get[string](a.http, a.base) }

// offers: prices of many articles are compared.
func offers(s *service) {
	var c catalog = &shopAPI{s.client(5, 64), remote.StartBackend().URL(5 * time.Millisecond)}
	s.grouped(50, func(context.Context) error {
		_, err := c.price(1)
		return err
	})
}

// hooks: events are posted by workers.
func hooks(s *service) {
	client, url := s.client(2, 64), remote.StartBackend().URL(3*time.Millisecond)
	events := sluice.NewBounded[int](64, nil)
	fill(events, 2, 1)
	employ(s, events, 24, func(int) error { return finish(client.Post(url, "text/plain", http.NoBody)) })
}

// db returns a database with a limit.
func (s *service) db(few, many int, delay time.Duration) *sql.DB {
	db := remote.StartBackend().Database(delay)
	db.SetMaxOpenConns(s.choose(raiseLimit, many, few))
	db.SetMaxIdleConns(many)
	return db
}

type customers struct{ db *sql.DB }

func (c *customers) balance() (err error) {
	var n int
	return c.db.QueryRow("SELECT", 1).Scan(&n)
}

// accounts: balances are read.
func accounts(s *service) {
	c := &customers{s.db(4, 48, 3*time.Millisecond)}
	s.callers(40, c.balance)
}

type repository interface {
	transfer(ctx context.Context, from, to int) error
}

type sqlRepository struct{ db *sql.DB }

func (r *sqlRepository) transfer(ctx context.Context, from, to int) error {
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "UPDATE", from, to); err != nil {
		return err
	}
	return tx.Commit()
}

// transfers: amounts are transferred in transactions.
func transfers(s *service) {
	var r repository = &sqlRepository{s.db(5, 40, time.Millisecond)}
	start(40, new(sync.WaitGroup).Go, func() {
		for r.transfer(context.Background(), 1, 2) == nil {
			s.done(1)
		}
	})
}

// query returns the first column of the first row.
func query[T any](ctx context.Context, db *sql.DB, text string) (v T, err error) {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return v, err
	}
	defer rows.Close()
	if rows.Next() {
		err = rows.Scan(&v)
	}
	return v, err
}

// tags: articles with a tag are listed for an errgroup of readers.
func tags(s *service) {
	db := s.db(2, 32, 4*time.Millisecond)
	s.grouped(24, func(ctx context.Context) error {
		_, err := query[int](ctx, db, "SELECT")
		return err
	})
}

// renders: pages are rendered elsewhere, a few at once.
func renders(s *service) {
	render, ctx := s.asker(5*time.Millisecond), context.Background()
	slots := semaphore.NewWeighted(int64(s.choose(raiseLimit, 64, 4)))
	s.callers(32, func() error {
		if err := slots.Acquire(ctx, 1); err != nil {
			return err
		}
		defer slots.Release(1)
		return render()
	})
}

// exports: workers share permits of this module.
func exports(s *service) {
	permits, write := own.New(int64(s.choose(raiseLimit, 64, 3)), nil), s.asker(3*time.Millisecond)
	jobs := sluice.NewBounded[int](16, nil)
	fill(jobs, 1, 1)
	employ(s, jobs, 32, func(int) error {
		if err := permits.Acquire(context.Background(), 1); err != nil {
			return err
		}
		defer permits.Release(1)
		return write()
	})
}

type gate chan struct{}

func (g gate) enter(ctx context.Context) error { return send(ctx, g, struct{}{}) }
func (g gate) leave()                          { <-g }

// museums: groups enter through a gate.
func museums(s *service) {
	g, tour := make(gate, s.choose(raiseLimit, 64, 2)), s.asker(2*time.Millisecond)
	s.grouped(25, func(ctx context.Context) error {
		if err := g.enter(ctx); err != nil {
			return err
		}
		defer g.leave()
		return tour()
	})
}

type pool struct{ free chan *remote.Link }

func (p *pool) take() *remote.Link  { return <-p.free }
func (p *pool) give(l *remote.Link) { p.free <- l }
func (p *pool) use() error {
	l := p.take()
	defer p.give(l)
	return l.Ask(2 * time.Millisecond)
}

// newPool returns a pool of n links.
func newPool(n int) *pool {
	p, b := &pool{make(chan *remote.Link, n)}, remote.StartBackend()
	for range n {
		p.give(b.Dial())
	}
	return p
}

// caches: keys are looked up over a few connections.
func caches(s *service) { s.callers(36, newPool(s.choose(raiseLimit, 48, 4)).use) }

type garage struct{ backlog[*remote.Link] }

func (g *garage) rent() *remote.Link { return g.get() }

// rentals: customers share cars.
func rentals(s *service) {
	b, g := remote.StartBackend(), new(garage)
	g.filled = sync.NewCond(g)
	g.wake = g.filled.Signal
	for range s.choose(raiseLimit, 40, 4) {
		g.put(b.Dial())
	}
	start(32, new(sync.WaitGroup).Go, s.again(func() {
		car := g.rent()
		_ = car.Ask(3 * time.Millisecond)
		g.put(car)
	}))
}

type lender interface {
	borrow(ctx context.Context) (*remote.Link, error)
	give(l *remote.Link)
}

func (p *pool) borrow(ctx context.Context) (*remote.Link, error) { return recv(ctx, p.free) }

// readings: books are borrowed, unless a context ends.
func readings(s *service) {
	var shelf lender = newPool(s.choose(raiseLimit, 40, 3))
	s.grouped(30, func(ctx context.Context) error {
		l, err := shelf.borrow(ctx)
		if err != nil {
			return err
		}
		defer shelf.give(l)
		return l.Ask(3 * time.Millisecond)
	})
}

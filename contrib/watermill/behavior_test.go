package hubchannel

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"

	"github.com/sluice-go/sluice"
)

type pubSub interface {
	message.Publisher
	message.Subscriber
}

// A tester has the calls of tests, which fail the test if the call does.
type tester struct {
	*testing.T
	pubSub
}

func (t tester) publish(uuids ...string) {
	t.Helper()
	for _, uuid := range uuids {
		if err := t.Publish("topic", message.NewMessage(uuid, nil)); err != nil {
			t.Fatal(err)
		}
	}
}

func (t tester) subscribe(ctx context.Context) <-chan *message.Message {
	t.Helper()
	messages, err := t.Subscribe(ctx, "topic")
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// is receives a message, and compares its UUID.
func (t tester) is(messages <-chan *message.Message, want string) *message.Message {
	t.Helper()
	m, ok := <-messages
	if !ok || m.UUID != want {
		t.Fatalf("received %v, %t; want %s", m, ok, want)
	}
	return m
}

// ack receives messages, compares their UUIDs, and acks each.
func (t tester) ack(messages <-chan *message.Message, want ...string) {
	t.Helper()
	for _, uuid := range want {
		t.is(messages, uuid).Ack()
	}
}

// nothing fails if messages has one or is closed once all goroutines wait.
func (t tester) nothing(messages <-chan *message.Message) {
	t.Helper()
	synctest.Wait()
	select {
	case m, ok := <-messages:
		t.Fatalf("received %v, %t; want nothing", m, ok)
	default:
	}
}

func (t tester) over(messages <-chan *message.Message) {
	t.Helper()
	if m, ok := <-messages; ok {
		t.Fatalf("received %v from a channel that should be closed", m.UUID)
	}
}

// waits starts a call, and returns a function that waits for its result. It fails if the call
// returns before anything else happens.
func (t tester) waits(call func() error) (result func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- call() }()
	synctest.Wait()
	select {
	case err := <-done:
		t.Fatalf("returned %v instead of waiting", err)
	default:
	}
	return func() error { return <-done }
}

// TestLikeGoChannel has what a program that used gochannel relies on. A goroutine that does not end
// fails the bubble.
func TestLikeGoChannel(t *testing.T) {
	background := context.Background()
	for _, test := range []struct {
		name   string
		config Config
		run    func(t tester)
	}{
		{"a message without a subscriber is gone", Config{}, func(t tester) {
			t.publish("lost")
			messages := t.subscribe(background)
			t.publish("1")
			t.ack(messages, "1")
			t.nothing(messages)
		}},
		{"topics are apart", Config{}, func(t tester) {
			other, _ := t.Subscribe(background, "other")
			messages := t.subscribe(background)
			t.publish("1")
			t.ack(messages, "1")
			t.nothing(other)
		}},
		{"subscribers and the publisher have a copy each", Config{}, func(t tester) {
			a, b := t.subscribe(background), t.subscribe(background)
			m := message.NewMessage("1", []byte("payload"))
			m.Metadata.Set("key", "published")
			if err := t.Publish("topic", m); err != nil {
				t.Fatal(err)
			}
			m.Metadata.Set("key", "later")
			first, second := t.is(a, "1"), t.is(b, "1")
			first.Metadata.Set("key", "of the first")
			first.Ack()
			second.Nack()
			again := t.is(b, "1")
			if again.Metadata.Get("key") != "published" || string(again.Payload) != "payload" {
				t.Errorf("received %v and %q", again.Metadata, again.Payload)
			}
			again.Ack()
		}},
		{"a nacked message comes until it is acked", Config{}, func(t tester) {
			messages := t.subscribe(background)
			t.publish("1")
			for range 3 {
				t.is(messages, "1").Nack()
			}
			t.ack(messages, "1")
			t.nothing(messages)
		}},
		{"a subscriber that does not ack holds up no other", Config{}, func(t tester) {
			stuck, messages := t.subscribe(background), t.subscribe(background)
			for i := range 100 {
				t.publish(strconv.Itoa(i))
				if i == 0 {
					t.is(stuck, "0")
				}
				t.ack(messages, strconv.Itoa(i))
			}
		}},
		{"the context of Subscribe ends one subscriber", Config{}, func(t tester) {
			ctx, cancel := context.WithCancel(background)
			ends, stays := t.subscribe(ctx), t.subscribe(background)
			cancel()
			t.over(ends)
			synctest.Wait()
			t.publish("1")
			t.ack(stays, "1")
		}},
		{"a context that is done before Subscribe", Config{}, func(t tester) {
			ctx, cancel := context.WithCancel(background)
			cancel()
			t.over(t.subscribe(ctx))
		}},
		{"Close ends everything, and twice does no harm", Config{}, func(t tester) {
			messages := t.subscribe(background)
			for range 2 {
				if err := t.Close(); err != nil {
					t.Error(err)
				}
			}
			t.over(messages)
			const want = "Pub/Sub closed"
			if err := t.Publish("topic", message.NewMessage("1", nil)); err == nil || err.Error()[:len(want)] != want {
				t.Errorf("Publish: %v", err)
			}
			if _, err := t.Subscribe(background, "topic"); err == nil || err.Error()[:len(want)] != want {
				t.Errorf("Subscribe: %v", err)
			}
		}},
		{"what is in the output channel outlives Close", Config{OutputChannelBuffer: 3}, func(t tester) {
			messages := t.subscribe(background)
			t.publish("1", "1", "1")
			synctest.Wait()
			if err := t.Close(); err != nil {
				t.Error(err)
			}
			t.ack(messages, "1", "1", "1")
			t.over(messages)
		}},
		{"a buffer is received before the first ack", Config{OutputChannelBuffer: 2}, func(t tester) {
			messages := t.subscribe(background)
			t.publish("1", "1", "1")
			for _, m := range []*message.Message{t.is(messages, "1"), t.is(messages, "1"), t.is(messages, "1")} {
				m.Ack()
			}
		}},
		{"a persistent topic begins with the old messages", Config{Persistent: true}, func(t tester) {
			t.publish("1")
			first := t.subscribe(background)
			t.ack(first, "1")
			t.publish("1")
			t.ack(first, "1")
			t.ack(t.subscribe(background), "1", "1")
		}},
		{"Publish waits for all acks", Config{BlockPublishUntilSubscriberAck: true}, func(t tester) {
			t.publish("without subscribers")
			a, b := t.subscribe(background), t.subscribe(background)
			publish := func() error { return t.Publish("topic", message.NewMessage("1", nil)) }
			result := t.waits(publish)
			t.ack(a, "1")
			t.is(b, "1").Nack()
			m := t.is(b, "1")
			t.nothing(a)
			m.Ack()
			if err := result(); err != nil {
				t.Error(err)
			}
		}},
		{"publishers that wait for acks take turns", Config{BlockPublishUntilSubscriberAck: true}, func(t tester) {
			messages := t.subscribe(background)
			published := make(chan error)
			for range 2 { // one of them waits for a sync.Mutex, so synctest.Wait would not return
				go func() { published <- t.Publish("topic", message.NewMessage("1", nil)) }()
			}
			for range 2 {
				m := t.is(messages, "1")
				for range 1000 { // the other one may come
					runtime.Gosched()
				}
				m.Ack()
				if err := <-published; err != nil {
					t.Error(err)
				}
			}
		}},
		{"an end ends the wait for the ack", Config{BlockPublishUntilSubscriberAck: true}, func(t tester) {
			ctx, cancel := context.WithCancel(background)
			t.subscribe(ctx)
			publish := func() error { return t.Publish("topic", message.NewMessage("1", nil)) }
			result := t.waits(publish)
			cancel()
			if err := result(); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			t.subscribe(background)
			result = t.waits(publish)
			if err := t.Close(); err != nil {
				t.Error(err)
			}
			if err := result(); err != nil {
				t.Error(err)
			}
		}},
		{"a context ends with the ack and with the subscriber", Config{}, func(t tester) {
			type key struct{}
			messages := t.subscribe(context.WithValue(background, key{}, "value"))
			for _, end := range []func(*message.Message){
				func(m *message.Message) { m.Ack() },
				func(*message.Message) { go t.Close() },
			} {
				t.publish("1")
				m := t.is(messages, "1")
				child, cancel := context.WithCancel(m.Context())
				defer cancel()
				if ctx := m.Context(); ctx.Err() != nil || child.Err() != nil || ctx.Value(key{}) != "value" {
					t.Fatal(ctx.Err(), child.Err(), ctx.Value(key{}))
				}
				end(m)
				<-child.Done()
				<-m.Context().Done()
				if cause := context.Cause(m.Context()); cause != context.Canceled {
					t.Error(cause)
				}
			}
		}},
		{"a context that is first used after the ack", Config{}, func(t tester) {
			messages := t.subscribe(background)
			t.publish("1")
			m := t.is(messages, "1")
			m.Ack()
			synctest.Wait()
			if err := m.Context().Err(); err != context.Canceled {
				t.Error(err)
			}
		}},
		{"the context of the publisher", Config{PreserveContext: true}, func(t tester) {
			type key struct{}
			messages := t.subscribe(background)
			ctx := context.WithValue(background, key{}, "value")
			if err := t.Publish("topic", message.NewMessageWithContext(ctx, "1", nil)); err != nil {
				t.Fatal(err)
			}
			m := t.is(messages, "1")
			m.Ack()
			synctest.Wait()
			if ctx := m.Context(); ctx.Value(key{}) != "value" || ctx.Err() != nil {
				t.Error(ctx.Value(key{}), ctx.Err())
			}
		}},
	} {
		for name, open := range map[string]func(Config) pubSub{
			"gochannel": func(c Config) pubSub {
				return gochannel.NewGoChannel(gochannel.Config{
					OutputChannelBuffer: c.OutputChannelBuffer, Persistent: c.Persistent,
					BlockPublishUntilSubscriberAck: c.BlockPublishUntilSubscriberAck, PreserveContext: c.PreserveContext,
				}, nil)
			},
			"hubchannel": func(c Config) pubSub { return New(c, nil) },
		} {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p := open(test.config)
					defer p.Close()
					test.run(tester{t, p})
				})
			})
		}
	}
}

// TestUnlikeGoChannel has what gochannel does not do.
func TestUnlikeGoChannel(t *testing.T) {
	background := context.Background()
	for _, test := range []struct {
		name   string
		config Config
		run    func(t tester)
	}{
		{"the next message waits for the ack", Config{}, func(t tester) {
			messages := t.subscribe(background)
			t.publish("1", "2")
			m := t.is(messages, "1")
			t.nothing(messages)
			m.Nack()
			t.ack(messages, "1", "2")
		}},
		{"a context ends with the nack", Config{}, func(t tester) {
			messages := t.subscribe(background)
			t.publish("1")
			m := t.is(messages, "1")
			m.Nack()
			<-m.Context().Done()
			if again := t.is(messages, "1"); again.Context().Err() != nil {
				t.Error(again.Context().Err())
			}
		}},
		{"acks count in order", Config{OutputChannelBuffer: 2}, func(t tester) {
			messages := t.subscribe(background)
			t.publish("1", "2", "3", "4", "5")
			m := []*message.Message{t.is(messages, "1"), t.is(messages, "2"), t.is(messages, "3")}
			m[1].Nack()
			m[2].Ack()
			t.nothing(messages)
			m[0].Ack()
			// The room that the ack of the first made is taken after the nack of the second.
			t.ack(messages, "2", "4", "5")
			t.nothing(messages)
		}},
		{"a nack behind which others are sent", Config{OutputChannelBuffer: 2}, func(t tester) {
			messages := t.subscribe(background)
			t.publish("1", "2", "3", "4")
			t.is(messages, "1").Nack()
			t.is(messages, "2").Nack()
			t.ack(messages, "3", "1", "2", "4")
			t.nothing(messages)
		}},
		{"a derived context takes no goroutine", Config{}, func(t tester) {
			messages := t.subscribe(background)
			t.publish("1")
			m := t.is(messages, "1")
			before := runtime.NumGoroutine()
			_, cancel := context.WithCancel(m.Context())
			defer cancel()
			if after := runtime.NumGoroutine(); after > before {
				t.Errorf("%d goroutines, and %d before", after, before)
			}
		}},
		{"a nack after the end", Config{}, func(t tester) {
			ctx, cancel := context.WithCancel(background)
			messages := t.subscribe(ctx)
			s := (*t.pubSub.(*PubSub).topics["topic"].subscribers.Load())[0]
			t.publish("1")
			m := t.is(messages, "1")
			cancel()
			t.over(messages)
			m.Nack()
			s.advance() // as a publisher may, which has found the subscriber before
		}},
		{"a persistent topic keeps the last Capacity messages", Config{Persistent: true, Capacity: 2}, func(t tester) {
			t.publish("1", "2", "3")
			t.ack(t.subscribe(background), "2", "3")
		}},
		{"an ack makes room for Publish", Config{Capacity: 2}, full(func(t tester, messages <-chan *message.Message, _, _ func()) error {
			t.ack(messages, "1")
			return nil
		})},
		{"the end of the subscriber makes room", Config{Capacity: 2}, full(func(_ tester, _ <-chan *message.Message, leave, _ func()) error {
			leave()
			return nil
		})},
		{"the context of the message ends the wait", Config{Capacity: 2}, full(func(_ tester, _ <-chan *message.Message, _, cancel func()) error {
			cancel()
			return context.Canceled
		})},
		{"Close ends the wait", Config{Capacity: 2}, full(func(t tester, _ <-chan *message.Message, _, _ func()) error {
			t.Close()
			return sluice.ErrClosed
		})},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := New(test.config, nil)
				defer p.Close()
				test.run(tester{t, p})
			})
		})
	}
}

// full runs a test while Publish waits for room: the message "1" is received and not acked, "2" and "3"
// are queued, and the wait of "4" is to end with the error that free returns.
func full(free func(t tester, messages <-chan *message.Message, leave, cancel func()) error) func(tester) {
	return func(t tester) {
		subscription, leave := context.WithCancel(context.Background())
		publishing, cancel := context.WithCancel(context.Background())
		defer leave()
		defer cancel()
		messages := t.subscribe(subscription)
		t.publish("1", "2", "3")
		result := t.waits(func() error {
			return t.Publish("topic", message.NewMessageWithContext(publishing, "4", nil))
		})
		want := free(t, messages, leave, cancel)
		if err := result(); !errors.Is(err, want) {
			t.Errorf("Publish: %v, want %v", err, want)
		}
	}
}

// TestStalledSubscriber: a subscriber that receives nothing has as many goroutines as one that works. In
// the end it receives everything in order.
func TestStalledSubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := tester{t, New(Config{}, nil)}
		defer p.Close()
		messages := p.subscribe(context.Background())
		p.publish("works")
		p.ack(messages, "works")
		synctest.Wait()
		before := runtime.NumGoroutine()
		const n = 10_000
		for i := range n {
			p.publish(strconv.Itoa(i))
		}
		synctest.Wait()
		if after := runtime.NumGoroutine(); after > before { // one of the testing package may end meanwhile
			t.Errorf("%d goroutines with %d messages that wait, and %d without", after, n, before)
		}
		for i := range n {
			p.ack(messages, strconv.Itoa(i))
		}
	})
}

// TestTopicsAreForgotten finds nothing left of topics without subscribers.
func TestTopicsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(Config{}, nil)
		defer p.Close()
		ctx, cancel := context.WithCancel(context.Background())
		for i := range 10 {
			if _, err := p.Subscribe(ctx, strconv.Itoa(i%5)); err != nil {
				t.Fatal(err)
			}
		}
		cancel()
		synctest.Wait()
		if n := len(p.topics); n != 0 {
			t.Errorf("%d topics are left", n)
		}
	})
}

func TestRefused(t *testing.T) {
	for _, config := range []Config{{OutputChannelBuffer: -1}, {Capacity: -1}} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "hubchannel: New: ") {
					t.Errorf("%+v: %s", config, got)
				}
			}()
			New(config, nil)
		}()
	}
}

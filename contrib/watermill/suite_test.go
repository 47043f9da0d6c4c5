package hubchannel

import (
	"os"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/tests"

	"github.com/sluice-go/sluice/internal/suite"
)

// features is what Watermill's suite tests. Persistent and NewSubscriberReceivesOldMessages are about
// a store that several instances share, which a Pub/Sub within a process does not have.
var features = tests.Features{
	GuaranteedOrder:                     true,
	GuaranteedOrderWithSingleSubscriber: true,
	ExactlyOnceDelivery:                 true,
	RequireSingleInstance:               true,
}

func constructor(config Config) tests.PubSubConstructor {
	config.Persistent = true // the suite publishes before it subscribes
	return func(*testing.T) (message.Publisher, message.Subscriber) {
		p := New(config, nil)
		return p, p
	}
}

func TestSuite(t *testing.T) {
	tests.TestPubSub(t, features, constructor(Config{}), nil)
}

func TestSuiteContextPreserved(t *testing.T) {
	preserved := features
	preserved.ContextPreserved = true
	tests.TestPubSub(t, preserved, constructor(Config{PreserveContext: true}), nil)
}

// With a buffer, messages are sent before the one before them is acked, which the suite's test of
// GuaranteedOrder excludes.
func TestSuiteWithBuffer(t *testing.T) {
	ahead := features
	ahead.GuaranteedOrder = false
	tests.TestPubSub(t, ahead, constructor(Config{OutputChannelBuffer: 100, Capacity: 10_000}), nil)
}

func TestSuiteStress(t *testing.T) {
	if os.Getenv("STRESS_TEST_COUNT") == "" {
		suite.Needs(t, "the suite ten times at once")
	}
	tests.TestPubSubStressTest(t, features, constructor(Config{}), nil)
}

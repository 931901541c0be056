// Package delayqueue is a client of the HTTP gateway of nestjs-delay-queue: messages that are delivered at a later time, at least once, by
// exactly one consumer at a time.
//
// A [Client] publishes, looks up, cancels and receives messages. A [Worker] receives them for a handler, several at once, renews their leases
// while the handler runs, and settles what became of them.
//
// A call that fails on its way (a connection that breaks, a gateway that restarts, Redis away) is repeated with growing pauses. All tries of a
// publish, a settle and the run, pause or resume of a schedule have the same idempotency key, so they happen once.
package delayqueue

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	defaultTimeout  = 10 * time.Second
	defaultRetryFor = 15 * time.Second

	// The gateway knows an idempotency key for two minutes; the last try may take a while.
	maxRetryFor = 100 * time.Second

	// Go keeps two idle connections for a host, so most of those of many goroutines would be opened anew.
	idleConnections = 256

	// The gateway closes idle connections after 75 s. A request on one that it is about to close would be lost.
	idleTimeout = time.Minute
)

// Options say how a [Client] talks to the gateway. The zero value is fine for a gateway without tokens.
type Options struct {
	// Token is sent as a bearer token. Default: none.
	Token string
	// TokenSource returns the token in place of Token, for one that changes. It is asked for each call, and once more if the gateway refuses what
	// it has returned. If it fails, so has that try of the call. Default: none.
	TokenSource func(ctx context.Context) (string, error)
	// Header is sent with every request: for a gateway in an application that has a way of its own to tell its callers apart.
	Header http.Header
	// Timeout is the longest time of one try; a receive has its wait on top. Default: 10 s.
	Timeout time.Duration
	// RetryFor is for how long a call that failed on its way is repeated, at most 100 s; a receive has its wait on top. Negative: never.
	// Default: 15 s.
	RetryFor time.Duration
	// HTTPClient sends the requests. A Timeout of its own counts as that of one try, if it is shorter. Default: one that keeps as many idle
	// connections as a worker needs.
	HTTPClient *http.Client
}

// Client talks to one gateway. It is safe for use by many goroutines at once; an application needs one.
type Client struct {
	base        *url.URL
	header      http.Header
	tokenSource func(ctx context.Context) (string, error)
	timeout     time.Duration
	retryFor    time.Duration
	http        *http.Client
}

// New makes a client of the gateway at a URL such as "http://127.0.0.1:8080", with the path of the gateway if it has one. It sends nothing yet.
// The error says what is wrong with the URL or the options.
func New(gatewayURL string, options Options) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(gatewayURL, "/"))
	switch {
	case err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" || base.RawQuery != "" || base.Fragment != "":
		return nil, invalid("the URL of the gateway must be one such as http://127.0.0.1:8080, without query and fragment")
	case !isToken(options.Token):
		return nil, invalid("the token must be printable ASCII without spaces: trim the end of the line if it comes from a file")
	case options.Token != "" && options.TokenSource != nil:
		return nil, invalid("Token and TokenSource are both given: leave one of them out")
	case options.Timeout < 0:
		return nil, invalid("Timeout must not be negative. Given: %v", options.Timeout)
	case options.RetryFor > maxRetryFor:
		return nil, invalid("RetryFor must be at most %v. Given: %v", maxRetryFor, options.RetryFor)
	}
	client := &Client{
		base: base, header: http.Header{}, tokenSource: options.TokenSource,
		timeout: options.Timeout, retryFor: options.RetryFor,
	}
	client.header.Set("User-Agent", "nestjs-delay-queue-go")
	for name, values := range options.Header {
		client.header[name] = values
	}
	if options.Token != "" {
		client.header.Set("Authorization", "Bearer "+options.Token)
	}
	if client.timeout == 0 {
		client.timeout = defaultTimeout
	}
	if client.retryFor == 0 {
		client.retryFor = defaultRetryFor
	}
	if options.HTTPClient == nil {
		client.http = newHTTPClient()
		return client, nil
	}
	own := *options.HTTPClient
	if own.Timeout > 0 && own.Timeout < client.timeout {
		client.timeout = own.Timeout
	}
	own.Timeout = 0 // It would end a receive while it waits.
	client.http = &own
	return client, nil
}

func isToken(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

func newHTTPClient() *http.Client {
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		MaxIdleConnsPerHost: idleConnections,
		IdleConnTimeout:     idleTimeout,
		// No HTTP/2: a request that has timed out closes its connection, and all others would go on to share one that is half-dead.
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
	// A redirect is an error: followed, most of them would make a GET of a POST.
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// String names the gateway, without the token: clients end up in logs.
func (c *Client) String() string {
	return "delayqueue client of " + c.base.Redacted()
}

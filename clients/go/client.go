package delayqueue

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	defaultTimeout  = 10 * time.Second
	defaultRetryFor = 20 * time.Second

	// A worker settles each message with a request of its own. Go keeps two idle connections for a host, so most would be opened anew.
	idleConnections = 256
)

// Options say how a [Client] talks to the gateway. The zero value is fine for a gateway without tokens.
type Options struct {
	// Token is sent as a bearer token. Default: none.
	Token string
	// Header is sent with every request: for a gateway in an application that has a way of its own to tell its callers apart.
	Header http.Header
	// Timeout is the longest time for one try of a call, beside the time that a receive waits for messages. Default: 10 s.
	Timeout time.Duration
	// RetryFor is how long a call that fails on its way is repeated. Negative: never. After two minutes the gateway does not remember a call, so a
	// settle that is repeated for longer may be answered as stale. Default: 20 s.
	RetryFor time.Duration
	// HTTPClient sends the requests. Default: one that keeps as many idle connections as a worker needs.
	HTTPClient *http.Client
}

// Client talks to one gateway. It is safe for use by many goroutines at once; an application needs one.
type Client struct {
	base     *url.URL
	header   http.Header
	timeout  time.Duration
	retryFor time.Duration
	http     *http.Client
}

// New makes a client of the gateway at a URL such as "http://127.0.0.1:8080". Where the gateway is part of an application, the URL has the
// gateway's path too. It sends nothing yet. The error says what is wrong with the URL or the options.
func New(gatewayURL string, options Options) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(gatewayURL, "/"))
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return nil, fmt.Errorf(
			"%w: the URL of the gateway must begin with http:// or https:// and name a host, such as http://127.0.0.1:8080",
			ErrInvalidArgument,
		)
	}
	if base.RawQuery != "" || base.Fragment != "" {
		return nil, fmt.Errorf("%w: the URL of the gateway must end with its path: no query, no fragment", ErrInvalidArgument)
	}
	if options.Timeout < 0 {
		return nil, fmt.Errorf("%w: Timeout must not be negative. Given: %v", ErrInvalidArgument, options.Timeout)
	}
	client := &Client{
		base:     base,
		header:   options.Header.Clone(),
		timeout:  options.Timeout,
		retryFor: options.RetryFor,
		http:     options.HTTPClient,
	}
	client.fillIn(options.Token)
	return client, nil
}

func (c *Client) fillIn(token string) {
	if c.header == nil {
		c.header = http.Header{}
	}
	if token != "" {
		c.header.Set("Authorization", "Bearer "+token)
	}
	if c.timeout == 0 {
		c.timeout = defaultTimeout
	}
	if c.retryFor == 0 {
		c.retryFor = defaultRetryFor
	}
	if c.http == nil {
		c.http = &http.Client{Transport: newTransport()}
	}
}

func newTransport() http.RoundTripper {
	standard, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	transport := standard.Clone()
	transport.MaxIdleConns = idleConnections
	transport.MaxIdleConnsPerHost = idleConnections
	return transport
}

// String names the gateway, without the token: clients end up in logs.
func (c *Client) String() string {
	return "delayqueue client of " + c.base.Redacted()
}

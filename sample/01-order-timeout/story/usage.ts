/** Commands to try while the service runs. */
export function usage(url: string): string {
  return `
The service runs at ${url} until Ctrl-C. Its dashboard, with the messages of the story:

  ${url}/queues

Try it:

  curl ${url}/orders
  id=$(curl -s ${url}/orders -H 'content-type: application/json' -d '{"item":"cake"}' | cut -d '"' -f 4)
  curl ${url}/orders/$id
  curl -X POST ${url}/orders/$id/pay
  curl ${url}/metrics
`;
}

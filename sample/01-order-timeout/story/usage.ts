/** What can be done with the service while it runs. */
export function usage(url: string): string {
  return `
The service goes on at ${url} until Ctrl-C. To try it:

  curl ${url}/orders
  id=$(curl -s ${url}/orders -H 'content-type: application/json' -d '{"item":"cake"}' | cut -d '"' -f 4)
  curl ${url}/orders/$id
  curl -X POST ${url}/orders/$id/pay
  curl ${url}/metrics
`;
}

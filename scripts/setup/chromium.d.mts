/** The path of the browser that the pages of the dashboard are tested in. */
export function chromiumPath(): string;

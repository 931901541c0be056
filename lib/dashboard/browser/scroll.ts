/** Longest time for a page to become as long as it was, in milliseconds. */
const PATIENCE = 5000;

/** Events which show that the user scrolls elsewhere. */
const OWN_WILL = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;

/** Scrolls to a place as soon as the page is long enough, unless the user scrolls first. Returns a function that ends that. */
export function scrollOnceThere(content: Element, target: number): () => void {
  const scroll = (): void => {
    window.scrollTo(0, target);
    if (window.scrollY >= target - 1) end();
  };
  const observer = new ResizeObserver(scroll);
  const timer = setTimeout(() => end(), PATIENCE);
  const end = (): void => {
    observer.disconnect();
    clearTimeout(timer);
    for (const event of OWN_WILL) window.removeEventListener(event, end);
  };
  for (const event of OWN_WILL) window.addEventListener(event, end, { passive: true });
  observer.observe(content);
  return end;
}

/** Fraction of the window, from the top, in which something counts as in view. */
const IN_VIEW = 0.6;

/** Scrolls to a card unless something in it is in view. */
export function showInCard(part: Element): void {
  const { top } = part.getBoundingClientRect();
  if (top < 0 || top > window.innerHeight * IN_VIEW) part.closest('.card')?.scrollIntoView();
}

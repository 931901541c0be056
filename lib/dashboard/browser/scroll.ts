/** For so long a page may take to be as long as it was, in milliseconds. */
const PATIENCE = 5000;

/** What says that somebody goes elsewhere. */
const OWN_WILL = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;

/** Scrolls to a place as soon as the page is long enough, unless its reader scrolls first. Answers what ends that. */
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

/** The part of the window in which something is in view at once, from the top. */
const IN_VIEW = 0.6;

/** Scrolls to a card unless something in it is in view. */
export function showInCard(part: Element): void {
  const { top } = part.getBoundingClientRect();
  if (top < 0 || top > window.innerHeight * IN_VIEW) part.closest('.card')?.scrollIntoView();
}

import type { JSX } from 'preact';
import type { DoctorReport } from '../../../admin/doctor.js';
import { useLook } from '../api.js';
import { withLocalTimes } from '../format.js';
import { Badge, Card, Shown } from '../parts.js';
import { text } from '../texts/text.js';

const TONES = { ok: 'good', warning: 'warning', error: 'bad' } as const;
const ORDER = ['error', 'warning', 'ok'];

export function DoctorPage(): JSX.Element {
  const t = text();
  const look = useLook<DoctorReport>('api/doctor');
  return (
    <>
      <h1>{t.nav.doctor}</h1>
      <p class="muted">{t.doctor.hint}</p>
      <Shown look={look}>
        {({ findings }) => (
          <Card>
            <ul class="findings">
              {findings
                .toSorted((a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level))
                .map(({ check, level, message, advice }, i) => (
                  <li key={`${check} ${i}`}>
                    <Badge tone={TONES[level]}>{t.doctor.levels[level]}</Badge>
                    <span class="mono">{check}</span>
                    <div>
                      <p class={level === 'ok' ? 'muted' : 'strong'}>{withLocalTimes(message)}</p>
                      {advice && <p>{withLocalTimes(advice)}</p>}
                    </div>
                  </li>
                ))}
            </ul>
          </Card>
        )}
      </Shown>
    </>
  );
}

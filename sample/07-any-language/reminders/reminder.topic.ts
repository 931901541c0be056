import { topic } from 'nestjs-delay-queue';
import { z } from 'zod';

const reminder = z.object({ to: z.email(), text: z.string().min(1) });

export type Reminder = z.infer<typeof reminder>;

/** Published by a page in PHP. What the schema refuses, its visitor is told at once. */
export const reminderSend = topic('reminder.send', { schema: reminder });

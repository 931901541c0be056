import { topic } from 'nestjs-delay-queue';

export interface ParcelStep {
  readonly parcel: string;
  readonly step: 'packed' | 'shipped' | 'delivered';
}

/** The steps of parcels. The key of each message is its parcel, so that the steps of a parcel are handled one after the other. */
export const parcelStep = topic<ParcelStep>('parcel.step');
